import java.net.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

public class All {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        if (pool.submit(() -> 42).get() != 42) throw new Error("pool");
        pool.shutdown();
        Process child = new ProcessBuilder("echo", "child").start();
        if (child.getInputStream().readAllBytes().length != 6) throw new Error("child");
        Path file = Files.createTempFile(Path.of("."), "a", "b");
        Files.copy(file, Path.of("copy"), StandardCopyOption.REPLACE_EXISTING);
        try (WatchService watch = FileSystems.getDefault().newWatchService()) {
            Path.of(".").register(watch, StandardWatchEventKinds.ENTRY_CREATE);
        }
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        new Thread(() -> {
            try (Socket s = server.accept()) {
                s.getOutputStream().write(65);
            } catch (Exception e) {
                throw new Error(e);
            }
        }).start();
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort());
        if (socket.getInputStream().read() != 65) throw new Error("socket");
        if (!NetworkInterface.getNetworkInterfaces().hasMoreElements()) throw new Error("interfaces");
        System.out.println("ok");
    }
}

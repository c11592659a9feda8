// Reads secrets and starts programs from Java.
// want: exit 0
// want: stdout refused

import java.nio.file.*;

public class Escape {
    public static void main(String[] args) throws Exception {
        for (String name : new String[] {"/etc/shadow", "/proc/1/environ", "/proc/1/mem", "/root/.bashrc"}) {
            try {
                if (Files.newInputStream(Path.of(name)).read() >= 0) System.out.println("read " + name);
            } catch (java.io.IOException e) {
                // as it should be
            }
        }
        Process id = new ProcessBuilder("id", "-u").start();
        if (new String(id.getInputStream().readAllBytes()).equals("0\n")) System.out.println("root");
        System.out.println("refused");
    }
}

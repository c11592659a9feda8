public class Describe {
    public static void main(String[] args) {
        System.out.println("{\"version\": \"OpenJDK " + System.getProperty("java.version") + "\", \"libraries\": []}");
    }
}

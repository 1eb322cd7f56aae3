// Starts a Trino server of the version that the first word names, with the settings in etc.
public class Trino {
    public static void main(String[] words) {
        new io.trino.server.Server().start(words[0]);
    }
}

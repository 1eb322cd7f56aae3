// Asks a database through JDBC, as DBeaver and Metabase do: java -cp DRIVER Jdbc.java URL [PROPERTY=VALUE…]
// Each line of the input is a command, and is answered with a line of JSON:
//   tables SCHEMA, columns SCHEMA TABLE    what the driver says about them
//   sql STATEMENT                          the rows as text, with the types of the columns
//   connect                                opens one more connection, which is asked from then on
//   close                                  closes all connections, and opens one
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

public class Jdbc {
    public static void main(String[] words) throws Exception {
        var properties = new Properties();
        for (int at = 1; at < words.length; at++) {
            var parts = words[at].split("=", 2);
            properties.setProperty(parts[0], parts[1]);
        }
        var connections = new ArrayList<Connection>();
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            try {
                if (connections.isEmpty()) connections.add(DriverManager.getConnection(words[0], properties));
                var about = connections.get(connections.size() - 1).getMetaData();
                var command = line.split(" ", 2);
                var names = line.split(" ");
                switch (command[0]) {
                    case "tables" -> print(about.getTables(null, names[1], "%", null), "TABLE_NAME", "TABLE_TYPE", "REMARKS");
                    case "columns" -> print(about.getColumns(null, names[1], names[2], "%"), "COLUMN_NAME", "TYPE_NAME", "REMARKS");
                    case "sql" -> {
                        try (Statement statement = about.getConnection().createStatement()) {
                            if (statement.execute(command[1])) print(statement.getResultSet());
                            else System.out.println("{}");
                        }
                    }
                    case "connect" -> {
                        connections.add(DriverManager.getConnection(words[0], properties));
                        System.out.println("{}");
                    }
                    case "close" -> {
                        for (var connection : connections) connection.close();
                        connections.clear();
                        System.out.println("{}");
                    }
                    default -> throw new IllegalArgumentException(line);
                }
            } catch (SQLException refused) {
                System.out.println("{\"error\": " + quoted(refused.getMessage()) + "}");
            }
        }
        for (var connection : connections) connection.close();
    }

    /** Prints the rows of these columns, or of all. */
    static void print(ResultSet rows, String... columns) throws SQLException {
        ResultSetMetaData about = rows.getMetaData();
        List<String> names = new ArrayList<>(List.of(columns));
        if (names.isEmpty()) for (int at = 1; at <= about.getColumnCount(); at++) names.add(about.getColumnLabel(at));
        var types = new ArrayList<String>();
        for (int at = 1; columns.length == 0 && at <= about.getColumnCount(); at++)
            types.add(quoted(about.getColumnLabel(at)) + ": " + quoted(about.getColumnTypeName(at)));
        var found = new ArrayList<String>();
        while (rows.next()) {
            var row = new ArrayList<String>();
            for (var name : names) row.add(quoted(rows.getString(name)));
            found.add(row.toString());
        }
        System.out.println("{\"types\": {" + String.join(", ", types) + "}, \"rows\": " + found + "}");
    }

    static String quoted(String text) {
        if (text == null) return "null";
        var json = new StringBuilder("\"");
        for (char one : text.toCharArray())
            json.append(one < ' ' || one == '"' || one == '\\' ? String.format("\\u%04x", (int) one) : String.valueOf(one));
        return json.append('"').toString();
    }
}

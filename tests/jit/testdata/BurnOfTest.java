// Burns CPU time in two methods, and prints how much each took, in seconds.
public class BurnOfTest {
    static long much(int n) { long s = 0; for (int i = 0; i < n; i++) s = (s + (long) i * i) % 1000003; return s; }
    static long little(int n) { long s = 0; for (int i = 0; i < n; i++) s = (s * 3 + i) % 65537; return s; }
    public static void main(String[] a) {
        var b = java.lang.management.ManagementFactory.getThreadMXBean();
        long much = 0, little = 0;
        while (much + little < 1500000000L) {
            long x = b.getCurrentThreadCpuTime(); much(3000000);
            long y = b.getCurrentThreadCpuTime(); little(1000000);
            much += y - x; little += b.getCurrentThreadCpuTime() - y;
        }
        System.out.println(much / 1e9 + " " + little / 1e9);
    }
}

// own_names FOLDER [none]: hangs in shop::checkout(int) for half a second of the processor's time,
// and leaves a report in FOLDER, with the names of its functions unless it is told not to.
#include <framewalk/framewalk.h>
#include <framewalk/hang.h>

#include <cstdio>
#include <cstring>
#include <ctime>

namespace shop
{

static volatile double total;

__attribute__((noinline)) void checkout(int milliseconds)
{
    std::timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const double start = double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
    double at = start;
    while (at - start < milliseconds) {
        for (int i = 0; i < 1000; i++)
            total = total + i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        at = double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
    }
}

} // namespace shop

int main(int argc, char **argv)
{
    fw_reports *reports;
    fw_hang_monitor *monitor;
    fw_hang_watch *watch;
    fw_failure why;
    fw_reports_options where = {};
    where.size = sizeof where;
    where.folder = argv[1];
    where.own_names = argc == 2;
    if (fw_reports_open(&where, &reports, &why) != FW_OK) {
        std::fprintf(stderr, "%s\n", why.message);
        return 1;
    }
    fw_hang_options options = {};
    options.size = sizeof options;
    options.reports = reports;
    options.threshold_ms = 100;
    options.keep_starved = true;
    if (fw_hang_start(&options, &monitor) != FW_OK ||
        fw_hang_watch_thread(monitor, fw_thread_self(), "main", &watch) != FW_OK)
        return 1;
    fw_hang_busy(watch);
    shop::checkout(500);
    fw_hang_idle(watch);
    fw_hang_unwatch(watch);
    fw_hang_stop(monitor);
    fw_reports_close(reports);
    return 0;
}

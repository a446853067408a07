// Watches the main run loop for hangs, and counts who asks for the pasteboard: reports go into a folder that survives a
// kill. In Swift.
import Foundation
import Framewalk

final class Monitor {
    private var reports: OpaquePointer?
    private var monitor: OpaquePointer?
    private var watch: OpaquePointer?
    private var calls: OpaquePointer?

    /// First thing on the main thread: in `main()`, or in the initialiser of the `App`.
    init() {
        openReports()
        var options = fw_hang_options()
        options.size = MemoryLayout<fw_hang_options>.size
        options.reports = reports
        guard fw_hang_start(&options, &monitor) == FW_OK, fw_hang_watch_run_loop(monitor, &watch) == FW_OK else {
            NSLog("hangs are not watched")
            return
        }
        watchCalls(["+[UIPasteboard generalPasteboard]", "getaddrinfo"])
    }

    deinit {
        fw_calls_stop(calls)
        fw_hang_stop(monitor)
        fw_reports_close(reports)
    }

    var hangs: (count: UInt64, seconds: Double) {
        var totals = fw_hang_totals()
        totals.size = MemoryLayout<fw_hang_totals>.size
        fw_hang_totals(monitor, &totals)
        return (totals.hangs, Double(totals.hang_ns) / 1e9)
    }

    /// Library/Caches is not backed up, and files there can be written once the device was unlocked after it started,
    /// unless the app asks for more protection.
    private func openReports() {
        let caches = NSSearchPathForDirectoriesInDomains(.cachesDirectory, .userDomainMask, true)[0]
        var why = fw_failure()
        let result: fw_error = (caches + "/framewalk").withCString { folder in
            (Bundle.main.bundleIdentifier ?? "").withCString { app in
                var options = fw_reports_options()
                options.size = MemoryLayout<fw_reports_options>.size
                options.folder = folder
                options.app = app
                return fw_reports_open(&options, &reports, &why)
            }
        }
        if result != FW_OK {
            NSLog("no reports: error %d", Int32(result.rawValue))
        }
    }

    private func watchCalls(_ names: [String]) {
        let copies = names.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        var list = copies.map { UnsafePointer<CChar>($0) }
        list.withUnsafeMutableBufferPointer { names in
            var options = fw_calls_options()
            options.size = MemoryLayout<fw_calls_options>.size
            options.names = UnsafePointer(names.baseAddress)
            options.count = names.count
            options.reports = reports
            options.write_seconds = 60
            if fw_calls_start(&options, &calls) != FW_OK {
                NSLog("calls are not watched")
            }
        }
    }
}

@main
enum Example {
    static func main() {
        let monitor = Monitor()
        DispatchQueue.main.async { Thread.sleep(forTimeInterval: 1) }  // the hang
        RunLoop.main.run(until: Date(timeIntervalSinceNow: 3))
        NSLog("%llu hangs, %.3f s in all", monitor.hangs.count, monitor.hangs.seconds)
    }
}

// Sends the reports that Monitor.swift keeps to a collector, over NSURLSession. In Swift.
import Foundation
import Framewalk
import FramewalkUpload

final class Upload {
    private var upload: OpaquePointer?

    /// When the app is up.
    init() {
        let caches = NSSearchPathForDirectoriesInDomains(.cachesDirectory, .userDomainMask, true)[0]
        var why = fw_failure()
        let result: fw_error = (caches + "/framewalk").withCString { folder in
            "https://reports.example.com".withCString { url in  // yours
                "fwk_...".withCString { key in  // it can only send; who has the app has it
                    var options = fw_upload_options()
                    options.size = MemoryLayout<fw_upload_options>.size
                    options.folder = folder
                    options.url = url
                    options.key = key
                    // Without this reports wait for Wi-Fi and power. They are a few kilobytes each.
                    options.allow = UInt8(FW_UPLOAD_ON_CELLULAR.rawValue | FW_UPLOAD_ON_EXPENSIVE.rawValue)
                    return fw_upload_start(&options, &upload, &why)
                }
            }
        }
        if result != FW_OK {
            NSLog("reports are not sent: error %d", Int32(result.rawValue))
        }
    }

    /// What is not sent stays in the folder, for the next start of the app.
    deinit {
        fw_upload_stop(upload, 1000)
    }
}

@main
enum Example {
    static func main() {
        let upload = Upload()
        RunLoop.main.run(until: Date(timeIntervalSinceNow: 10))
        withExtendedLifetime(upload) {}
    }
}

// Catches hangs of the main thread, in Swift. When it has not answered for two seconds, the stacks of all threads are
// logged; while it goes on, the main thread is sampled, and stacks that were seen before cost next to nothing.
import Foundation
import Framewalk
import Framewalk.Foundation

final class HangWatch: @unchecked Sendable {
    private let names: OpaquePointer
    private let patience = DispatchTimeInterval.seconds(2)
    private let betweenSamples = DispatchTimeInterval.milliseconds(50)

    /// Once, for as long as the program runs: `HangWatch()?.start()`.
    init?() {
        // Frames of the app and of the frameworks inside it have names; those of the system are counted.
        var created: OpaquePointer?
        let result: fw_error = (Bundle.main.bundlePath + "/").withCString { own in
            var images: [UnsafePointer<CChar>?] = [own]
            return images.withUnsafeMutableBufferPointer { list in
                var options = fw_stack_names_options()
                options.size = MemoryLayout<fw_stack_names_options>.size
                options.images = UnsafePointer(list.baseAddress)
                options.image_count = list.count
                options.text = true
                return fw_stack_names_create(&created, &options)
            }
        }
        guard result == FW_OK, let names = created else { return nil }
        self.names = names
    }

    deinit {
        fw_stack_names_destroy(names)
    }

    func start() {
        Thread.detachNewThread {
            Thread.current.name = "hang watch"
            while true {
                self.askMainThread()
                Thread.sleep(forTimeInterval: 0.5)
            }
        }
    }

    private func askMainThread() {
        let answer = DispatchSemaphore(value: 0)
        DispatchQueue.main.async { answer.signal() }
        guard answer.wait(timeout: .now() + patience) == .timedOut else { return }
        if let text = fw_text_all_threads() {
            NSLog("%@", "The main thread hangs.\n" + String(cString: text))
            free(text)
        }
        while answer.wait(timeout: .now() + betweenSamples) == .timedOut {
            if let text = mainThread() {
                NSLog("%@", text)
            }
        }
    }

    /// The main thread's stack, as lines of the app's own functions.
    private func mainThread() -> String? {
        var frames = [fw_frame](repeating: fw_frame(), count: 128)
        return frames.withUnsafeMutableBufferPointer { room in
            var thread = fw_thread()
            thread.stack.frames = room.baseAddress
            thread.stack.capacity = UInt32(room.count)
            var named: UnsafePointer<fw_named_stack>?
            guard fw_thread_capture(fw_thread_main(), &thread, nil) == FW_OK,
                fw_stack_names_get(names, &thread.stack, &named) == FW_OK, let stack = named
            else { return nil }
            defer { fw_stack_names_release(names, stack) }
            return String(cString: stack.pointee.text)
        }
    }
}

@main
enum Example {
    static func main() {
        print(fw_call_stack_symbols(32).joined(separator: "\n"))
        let watch = HangWatch()
        watch?.start()
        DispatchQueue.main.async { Thread.sleep(forTimeInterval: 5) }  // the hang
        RunLoop.main.run(until: Date(timeIntervalSinceNow: 10))
    }
}

// swift-tools-version:5.3
// Framewalk for Apple platforms. The lists between the marks are what CMake builds for Apple:
// packaging/apple/lists.sh writes them, the test `apple_lists` compares them.
import PackageDescription

let package = Package(
    name: "Framewalk",
    platforms: [.iOS(.v12), .macOS(.v10_14), .tvOS(.v12), .watchOS(.v5)],
    products: [
        .library(name: "Framewalk", targets: ["Framewalk"])
    ],
    targets: [
        .target(
            name: "Framewalk",
            path: ".",
            exclude: [
                // begin: left out
                // end: left out
            ],
            sources: [
                // begin: sources
                // end: sources
            ],
            resources: [.copy("packaging/apple/PrivacyInfo.xcprivacy")],
            publicHeadersPath: "include",
            cSettings: [.headerSearchPath("src")]
        )
    ],
    cLanguageStandard: .gnu11
)

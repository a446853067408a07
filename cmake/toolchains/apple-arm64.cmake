# iOS on arm64: programs run in the Mach-O host (tests/machhost) under qemu-user.
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(FW_MACHHOST_TRIPLE arm64-apple-ios14)
set(FW_MACHHOST_CC aarch64-linux-gnu-gcc)
set(FW_MACHHOST_RUN qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/apple-host.cmake)

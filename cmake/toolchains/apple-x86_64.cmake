# macOS on x86_64: programs run natively in the Mach-O host (tests/machhost).
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(FW_MACHHOST_TRIPLE x86_64-apple-macos11)
set(FW_MACHHOST_CC gcc)
set(FW_MACHHOST_RUN "")
include(${CMAKE_CURRENT_LIST_DIR}/apple-host.cmake)

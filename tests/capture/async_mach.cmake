# Async functions that the compiler made, in a Mach-O program.
fw_test(async_mach capture/async_mach_test.c capture/async_mach_code.c)
set_source_files_properties(capture/async_mach_code.c PROPERTIES COMPILE_OPTIONS
  "-fswift-async-fp=always;-fno-omit-frame-pointer")

# Tests of the Apple side: run where the build runs when that is a Mac, else in the Mach-O host (machhost/).
fw_test(reader base/reader_test.c)
fw_test(cfi_program unwind/cfi_program_test.c)
fw_test(expr unwind/expr_test.c)
fw_test(self capture/self_test.c)
fw_test(self_crash capture/self_crash_test.c)
target_compile_options(test_self_crash PRIVATE -fno-omit-frame-pointer)
fw_test(self_stack os/self_stack_test.c)

fw_test(async unwind/async_test.c unwind/async_world.c)
include(capture/async_mach.cmake)

if(FW_MACHHOST)
  include(machhost/tests.cmake)
  fw_test(mach_threads capture/mach_threads_test.c)
  fw_test(mach_faults capture/mach_faults_test.c)
endif()

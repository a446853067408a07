# Tests of the Apple side: run where the build runs when that is a Mac, else in the Mach-O host (machhost/).
fw_test(reader base/reader_test.c)
fw_test(cfi_program unwind/cfi_program_test.c)
fw_test(expr unwind/expr_test.c)
fw_test(stack_table capture/stack_table_test.c)
include(capture/modules.cmake)
include(capture/text.cmake)

if(FW_MACHHOST)
  include(machhost/tests.cmake)
  fw_test(mach_threads capture/mach_threads_test.c)
  fw_test(mach_faults capture/mach_faults_test.c)
endif()

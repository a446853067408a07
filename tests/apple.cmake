# Tests of the Apple side: run where the build runs when that is a Mac, else in the Mach-O host (machhost/).
fw_test(reader base/reader_test.c)
fw_test(cfi_program unwind/cfi_program_test.c)
fw_test(expr unwind/expr_test.c)

if(FW_MACHHOST)
  include(machhost/tests.cmake)
endif()

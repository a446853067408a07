# Tests of the Mach-O host itself. Those that are to be caught must say why, and fail.
fw_test(machhost_threads machhost/host_threads_test.c)

function(fw_caught name argument text)
  add_test(NAME ${name}_${argument} COMMAND test_${name} ${argument})
  set_tests_properties(${name}_${argument} PROPERTIES PASS_REGULAR_EXPRESSION "machhost: ${text}" TIMEOUT 60)
endfunction()
fw_caught(machhost_threads leak "task_threads: 1 arrays were not deallocated")
fw_caught(machhost_threads forget "thread port 0x[0-9a-f]+ .*: still suspended, count 1")
fw_caught(machhost_threads overdraw "port 0x[0-9a-f]+: 1 rights given back, but only 0 were taken")
fw_caught(machhost_threads forbidden "getpid was called while 1 other threads were held suspended: forbidden")

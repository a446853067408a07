# Tests of the Mach-O host itself.
fw_test(machhost machhost/host_test.c)

# All parts together: run, push, groups that name themselves.
fw_collector_script(collector_loop loop_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk> $<TARGET_FILE:loop_demo>)

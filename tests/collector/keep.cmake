# Retention, forgetting, backup and restore, against the real server.
foreach(name IN ITEMS retention forget failed keep_kill)
  fw_collector_script(collector_${name} ${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:post_body>)
  fw_collector_script(collector_${name}_postgres ${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:post_body> --postgres)
endforeach()
foreach(name IN ITEMS retention forget keep_kill)
  fw_collector_script(collector_${name}_s3 ${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:post_body> --s3)
endforeach()
fw_collector_script(collector_backup backup_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:post_body>)

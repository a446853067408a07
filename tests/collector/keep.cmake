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

# A wrong clock: the rules, and a server whose clocks are set by hand.
fw_collector_test(collector_clock_check collector/clock_check_test.c)
add_library(collector_set_clock MODULE collector/set_clock.c)
target_link_libraries(collector_set_clock PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(collector_set_clock PROPERTIES C_VISIBILITY_PRESET default PREFIX "" OUTPUT_NAME set_clock)
if(NOT FW_SANITIZE) # sanitizers must come first
  foreach(database IN ITEMS "" postgres)
    string(JOIN "_" name collector_clock ${database})
    string(REPLACE "postgres" "--postgres" option "${database}")
    fw_collector_script(${name} clock_test.py $<TARGET_FILE:framewalk_collector_program>
      $<TARGET_FILE:post_body> $<TARGET_FILE:collector_set_clock> ${option})
  endforeach()
endif()

# What is stored and was changed, and `serve --check`.
foreach(on IN ITEMS "" postgres s3)
  string(JOIN "_" name collector_damage ${on})
  set(option)
  if(on)
    set(option --${on})
  endif()
  fw_collector_script(${name} damage_test.py $<TARGET_FILE:framewalk_collector_program>
    $<TARGET_FILE:post_body> $<TARGET_FILE:framewalk> ${option})
endforeach()

# All parts together: run, push, groups that name themselves.
fw_collector_script(collector_loop loop_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk> $<TARGET_FILE:loop_demo>)

add_executable(own_names watch/programs/own_names.cpp)
target_link_libraries(own_names PRIVATE framewalk_core Threads::Threads)
target_compile_definitions(own_names PRIVATE _GNU_SOURCE)
target_compile_options(own_names PRIVATE -g)
target_link_options(own_names PRIVATE -Wl,--build-id=sha1)
fw_collector_script(collector_own_names own_names_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk> $<TARGET_FILE:own_names>)

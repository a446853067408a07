# `framewalk run`: the rule by which a loop is known, and real programs under the real command.
fw_test(agent_loop watch/agent_loop_test.c ../src/watch/agent/loop.c)
if(TARGET framewalk_agent AND TARGET framewalk AND NOT CMAKE_CROSSCOMPILING)
  # fw_run_test(NAME ARGUMENT...)
  function(fw_run_test name)
    add_test(NAME run_${name} COMMAND ${Python3_EXECUTABLE}
      ${CMAKE_CURRENT_SOURCE_DIR}/watch/run_${name}_test.py $<TARGET_FILE:framewalk> ${ARGN})
    set_tests_properties(run_${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "XDG_CACHE_HOME=${CMAKE_CURRENT_BINARY_DIR}/cache;DEBUGINFOD_URLS=")
  endfunction()
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  set(programs ${CMAKE_CURRENT_SOURCE_DIR}/watch/programs)
  fw_run_test(loops ${CMAKE_C_COMPILER} ${programs}/loops.c)
  fw_run_test(refuse ${CMAKE_C_COMPILER})
  fw_run_test(gtk ${CMAKE_C_COMPILER} ${programs}/gtk_window.c)
  fw_run_test(node ${programs}/timers.js)
  fw_run_test(python ${programs}/server.py)
  fw_run_test(nginx ${CMAKE_C_COMPILER} ${programs}/nginx_slow_module.c)
endif()

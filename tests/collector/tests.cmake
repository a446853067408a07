# Tests of src/collector, a file for each of its parts.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(fw_collector_test name)
  fw_symbols_test(${name} ${ARGN})
  target_link_libraries(test_${name} PRIVATE framewalk_collector)
endfunction()

# fw_collector_script(NAME SCRIPT ARGUMENTS...): in Python; most talk to the real server, which they start on a free port.
function(fw_collector_script name script)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/collector/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()

include(collector/store.cmake)
include(collector/http.cmake)
include(collector/symbols.cmake)
include(collector/uploads.cmake)
include(collector/intake.cmake)
include(collector/groups.cmake)
include(collector/api.cmake)
include(collector/keep.cmake)
include(collector/faults.cmake)
if(TARGET loop_demo AND TARGET framewalk_agent AND NOT FW_SANITIZE) # sanitizers cannot be preloaded
  include(collector/loop.cmake)
endif()

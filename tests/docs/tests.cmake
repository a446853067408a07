# What README.md and docs/ show is run as it is printed there: tests/docs/docs_test.py.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
file(GLOB documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md)
foreach(document IN LISTS documents)
  string(REGEX REPLACE "(^docs/)|([.]md$)" "" name ${document})
  string(MAKE_C_IDENTIFIER "docs_${name}" name)
  string(TOLOWER ${name} name)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/docs/docs_test.py ${document}
    ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 RESOURCE_LOCK docs_ports)
  if(FW_SANITIZE OR CMAKE_CROSSCOMPILING) # what is installed
    set_tests_properties(${name} PROPERTIES DISABLED TRUE)
  endif()
endforeach()

# What servers survive: each other's death, faults of what they stand on, hostile clients.
fw_collector_script(collector_cluster cluster_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:collector_make>)

# faults_test.py loads it into servers.
add_library(collector_full_disk MODULE collector/full_disk.c)
target_link_libraries(collector_full_disk PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(collector_full_disk PROPERTIES C_VISIBILITY_PRESET default)
fw_collector_script(collector_faults faults_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:collector_make>
  $<TARGET_FILE:collector_full_disk>)
if(NOT FW_SANITIZE) # sanitizers take more address space than the converter may have
  fw_collector_script(collector_faults_converter faults_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:collector_make>
    $<TARGET_FILE:collector_full_disk>
    Faults.test_converter Faults.test_converter_of_an_ordinary_user)
endif()
fw_collector_script(collector_hostile hostile_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:collector_make> $<TARGET_FILE:post_body>)
set_tests_properties(collector_hostile PROPERTIES RUN_SERIAL TRUE)

# What servers survive: each other's death, faults of what they stand on, hostile clients.
fw_collector_script(collector_cluster cluster_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:collector_make>)

# Programs with sanitizers are large, many, and never shipped: lld links them, where it is there, in a fraction of the time.
# gcc knows it by the name ld.lld alone, which Debian gives to no version.
find_program(FW_FAST_LINKER ld.lld-19)
if(FW_FAST_LINKER)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/linker)
  file(CREATE_LINK ${FW_FAST_LINKER} ${PROJECT_BINARY_DIR}/linker/ld.lld SYMBOLIC)
  add_link_options(-B${PROJECT_BINARY_DIR}/linker -fuse-ld=lld)
endif()

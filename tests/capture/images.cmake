include(capture/modules.cmake)
fw_test(images capture/images_test.c)
fw_uses_modules(images)

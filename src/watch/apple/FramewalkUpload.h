/* The module FramewalkUpload of Apple's package: <framewalk/upload.h>, which the module Framewalk
 * leaves out. */
#include <framewalk/upload.h>

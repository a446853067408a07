/* What came with a program, by names and places. */
#include "report/own_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LIB "/usr/lib/x86_64-linux-gnu/"

static void with_the_program(void **state)
{
    (void)state;
    assert_true(own_image("/usr/bin/mousepad", "/usr/bin/mousepad"));
    assert_true(own_image("/usr/bin/mousepad", LIB "libmousepad.so.0.0.0"));
    assert_true(own_image("/usr/bin/mousepad", LIB "mousepad/plugins/libx.so"));
    assert_true(own_image("/usr/bin/gimp-2.10", LIB "libgimp-2.0.so.0"));
    assert_true(own_image("/usr/bin/gimp-2.10", "/usr/lib/gimp/2.0/modules/libcontroller.so"));
    assert_true(own_image("/usr/lib/firefox-esr/firefox-esr", "/usr/lib/firefox-esr/libxul.so"));
    assert_true(own_image("/opt/shop/shop", "/opt/shop/plugins/libpay.so"));
}

static void of_the_system(void **state)
{
    (void)state;
    assert_false(own_image("/usr/bin/mousepad", LIB "libgtk-3.so.0"));
    assert_false(own_image("/usr/bin/mousepad", LIB "libmousepadview.so.1"));
    assert_false(own_image("/usr/bin/c", LIB "libc.so.6"));
    assert_false(own_image("/usr/bin/python3.11", "/usr/lib/python3.11/lib-dynload/_ssl.so"));
    assert_false(own_image("/usr/bin/python3.11", LIB "libpython3.11.so.1.0"));
    assert_false(own_image("/home/ann/bin/crypto", LIB "libcrypto.so.3")); /* nobody installed it */
    assert_false(own_image("/usr/local/bin/ssl", LIB "libssl.so.3"));
    assert_false(own_image("/usr/lib/x86_64-linux-gnu/helper", LIB "libc.so.6"));
    assert_false(own_image("/init", "/lib/libc.so.6"));
    assert_false(own_image(NULL, LIB "libc.so.6"));
    assert_false(own_image("/usr/bin/mousepad", NULL));
    assert_false(own_image("mousepad", "libmousepad.so"));
}

static void scripts(void **state)
{
    (void)state;
    assert_true(own_script("/home/ann/srv.py"));
    assert_true(own_script("<string>"));
    assert_true(own_script(NULL));
    assert_false(own_script("/usr/lib/python3.11/re/__init__.py"));
    assert_false(own_script("/home/ann/.venv/lib/site-packages/flask/app.py"));
    assert_false(own_script("/usr/lib/python3/dist-packages/gi/overrides/Gtk.py"));
    assert_false(own_script("/srv/shop/node_modules/express/lib/router.js"));
    assert_false(own_script("node:internal/timers"));
    assert_false(own_script("<frozen importlib._bootstrap>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_the_program),
        cmocka_unit_test(of_the_system),
        cmocka_unit_test(scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

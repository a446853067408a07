/* collector/grouping_names.c: names of one function out of different builds come out the same, and
 * those of different functions do not. */
#include "collector/grouping_inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *function, *name; /* NULL: none */
} names[] = {
    /* C and clones */
    {"load_prices", "load_prices"},
    {"load_prices.part.0", "load_prices"},
    {"load_prices.constprop.0.isra.0.cold", "load_prices"},
    {"load_prices.cold.1", "load_prices"},
    {"load_prices.llvm.12345678901234567890", "load_prices"},
    {"load_prices.lto_priv.3", "load_prices"},
    {"load_prices [clone .cold]", "load_prices"},
    {"load_prices(int) [clone .isra.0] [clone .part.0]", "load_prices"},
    {"load_prices(int) (.llvm.4711)", "load_prices"},
    {"load_prices@plt", "load_prices"},
    {"pthread_mutex_lock@@GLIBC_2.2.5", "pthread_mutex_lock"},
    {"load_prices + 124", "load_prices"},
    {"load_prices+0x7c", "load_prices"},
    /* C++ */
    {"Shop::load_prices(int, char const*)", "Shop::load_prices"},
    {"Shop::load_prices(int) const", "Shop::load_prices"},
    {"void Shop::load_all<std::vector<int> >(std::vector<int>&)", "Shop::load_all<T>"},
    {"std::vector<int, std::allocator<int> > Shop::take<int>(int)", "Shop::take<T>"},
    {"Shop::Cart<Item>::add(Item const&)", "Shop::Cart<T>::add"},
    {"Shop::load(int)::{lambda(auto:1)#1}::operator()(int) const", "Shop::load::{lambda}"},
    {"Shop::load(int)::{lambda(int)#2}::operator()<int>(int) const", "Shop::load::{lambda}"},
    {"Shop::load(int)::$_0::operator()(int) const", "Shop::load::{lambda}"},
    {"Shop::load(int)::'lambda'(int)::operator()(int) const", "Shop::load::{lambda}"},
    {"Shop::load(int)::'lambda0'(int)::operator()(int) const", "Shop::load::{lambda}"},
    {"Shop::load(int)::<lambda(int)>", "Shop::load::{lambda}"},
    {"Shop::load(int) const::{lambda()#1}::operator()() const", "Shop::load::{lambda}"},
    {"(anonymous namespace)::load()", "(anonymous namespace)::load"},
    {"{anonymous}::load()", "(anonymous namespace)::load"},
    {"int (anonymous namespace)::load<int>()", "(anonymous namespace)::load<T>"},
    {"Shop::operator()(int)", "Shop"},
    {"Shop::operator<<(std::ostream&)", "Shop::operator<<"},
    {"Shop::operator-><int>()", "Shop::operator-><T>"},
    {"Shop::operator bool() const", "Shop::operator bool"},
    {"operator new(unsigned long)", "operator new"},
    {"void* operator new(unsigned long)", "operator new"},
    {"operator new[](unsigned long)", "operator new[]"},
    {"std::__1::mutex::lock()", "std::mutex::lock"},
    {"std::__cxx11::basic_string<char>::append(char const*)", "std::basic_string<T>::append"},
    {"Shop::name[abi:cxx11]() const", "Shop::name"},
    {"non-virtual thunk to Shop::load()", "Shop::load"},
    {"bool Shop::less<&Shop::price>(int (*)(int), int)", "Shop::less<T>"},
    {"Shop::load(void (*)(int))", "Shop::load"},
    /* Rust */
    {"shop::cart::load::h0123456789abcdef", "shop::cart::load"},
    {"shop::cart::load", "shop::cart::load"},
    {"shop[8f3a51c0]::cart::load::<u32>", "shop::cart::load"},
    {"shop::cart::load::<alloc::vec::Vec<u8>>", "shop::cart::load"},
    {"shop::cart::load::{{closure}}::h0123456789abcdef", "shop::cart::load::{closure}"},
    {"shop::cart::load::{closure#0}", "shop::cart::load::{closure}"},
    {"shop::cart::load::{closure#0}::{closure#1}", "shop::cart::load::{closure}"},
    {"<shop::Cart<T> as core::fmt::Display>::fmt::h0123456789abcdef",
     "<shop::Cart<T> as core::fmt::Display>::fmt"},
    {"<shop::Cart<u8> as core::fmt::Display>::fmt", "<shop::Cart<T> as core::fmt::Display>::fmt"},
    {"shop::{impl#3}::load", "shop::{impl}::load"},
    /* Swift */
    {"Shop.Cart.load(items: [Swift.Int]) -> Swift.Bool", "Shop.Cart.load"},
    {"@objc Shop.Cart.load(items: [Swift.Int]) -> Swift.Bool", "Shop.Cart.load"},
    {"specialized Shop.Cart.load(items: [Swift.Int]) -> Swift.Bool", "Shop.Cart.load"},
    {"generic specialization <Swift.Int> of Shop.Cart.load<A where A: Swift.Comparable>(A) -> A",
     "Shop.Cart.load<T>"},
    {"Shop.Cart.load<A where A: Swift.Comparable>(A) -> A", "Shop.Cart.load<T>"},
    {"merged Shop.Cart.load() -> ()", "Shop.Cart.load"},
    {"closure #1 () -> () in Shop.Cart.load() -> ()", "closure in Shop.Cart.load"},
    {"closure #2 (Swift.Int) async -> () in closure #1 () -> () in Shop.Cart.load() -> ()",
     "closure in Shop.Cart.load"},
    {"partial apply forwarder for closure #1 () -> () in Shop.Cart.load() -> ()",
     "closure in Shop.Cart.load"},
    {"partial apply for closure #1 in Cart.load()", "closure in Cart.load"},
    {"implicit closure #1 @Sendable () -> () in Shop.Cart.load() -> ()",
     "closure in Shop.Cart.load"},
    {"(2) suspend resume partial function for Shop.Cart.load() async -> ()", "Shop.Cart.load"},
    {"(extension in Shop):Swift.Array.sum() -> Swift.Int", "Swift.Array.sum"},
    {"Shop.(Cart in _1FB2A3C4D5E6F708192A3B4C5D6E7F80).load() -> ()", "Shop.Cart.load"},
    {"Shop.Cart.total.getter : Swift.Int", "Shop.Cart.total.getter"},
    {"static Shop.Cart.shared.getter : Shop.Cart", "Shop.Cart.shared.getter"},
    {"protocol witness for Shop.Loading.load() -> () in conformance Shop.Cart : Shop.Loading in "
     "Shop",
     "Shop.Loading.load"},
    {"reabstraction thunk helper from @escaping @callee_guaranteed () -> () to @escaping () -> ()",
     "thunk"},
    {"thunk for @escaping @callee_guaranteed () -> ()", "thunk"},
    {"outlined copy of Swift.Optional<Foundation.Data>", "outlined"},
    {"Task.resume()", "Task.resume"},
    /* Objective-C */
    {"-[Cart load:with:]", "-[Cart load:with:]"},
    {"+[Cart shared]", "+[Cart shared]"},
    {"-[Cart(Private) load]", "-[Cart load]"},
    {"__26-[Cart(Private) load:with:]_block_invoke", "-[Cart load:with:] block"},
    {"__20-[Cart load:with:]_block_invoke_2", "-[Cart load:with:] block"},
    {"__20-[Cart load:with:]_block_invoke.42", "-[Cart load:with:] block"},
    {"__load_prices_block_invoke", "load_prices block"},
    {"__block_invoke", "__block_invoke"},
    {"___block_invoke_2", "___block_invoke_2"},
    /* JavaScript */
    {"LazyCompile:*load /app/shop.js:12:3", "load"},
    {"JS:~load file:///app/shop.js:99:1", "load"},
    /* None */
    {"<redacted>", NULL},
    {"???", NULL},
    {"0x00000001000012ab", NULL},
    {"", NULL},
    {"  ", NULL},
};

static void one_name_of_all_builds(void **state)
{
    (void)state;
    struct arena arena = {0};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool failed = false;
        const char *name = group_name(names[i].function, &arena, &failed);
        assert_false(failed);
        if ((!name) != (!names[i].name) || (name && strcmp(name, names[i].name) != 0)) {
            print_error("%s\n    is       %s\n    expected %s\n", names[i].function,
                        name ? name : "none", names[i].name ? names[i].name : "none");
            wrong++;
        }
        /* What is normalised stays as it is. */
        const char *again = name ? group_name(name, &arena, &failed) : NULL;
        if (name && (!again || strcmp(again, name) != 0)) {
            print_error("%s\n    becomes  %s\n", name, again ? again : "none");
            wrong++;
        }
    }
    arena_free(&arena);
    assert_int_equal(wrong, 0);
}

static void bytes_become_text(void **state)
{
    (void)state;
    struct arena arena = {0};
    bool failed = false;
    assert_string_equal(group_name("a\xff\x1b[31mb", &arena, &failed), "a\xef\xbf\xbd?");
    char deep[5000];
    memset(deep, '<', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_true(strlen(group_name(deep, &arena, &failed)) <= 3 * GROUP_NAME_MAX);
    for (size_t i = 0; i < sizeof deep - 1; i++)
        deep[i] = i < sizeof deep / 2 ? '<' : '>';
    assert_non_null(group_name(deep, &arena, &failed));
    assert_false(failed);
    arena_free(&arena);
}

static void images_lose_versions(void **state)
{
    (void)state;
    struct arena arena = {0};
    bool failed = false;
    assert_string_equal(group_image_name("/opt/shop/libshop.so.1.2.3", &arena, &failed),
                        "libshop.so");
    assert_string_equal(group_image_name("Shop", &arena, &failed), "Shop");
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_name_of_all_builds),
        cmocka_unit_test(bytes_become_text),
        cmocka_unit_test(images_lose_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

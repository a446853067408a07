/* What symbolicate_test.py builds in several ways: nested inlined calls, templates, a lambda, a
 * namespace, functions of one line. Never run. */
#include <cstdio>
#include <cstdlib>

namespace shapes
{
struct Square {
    int side;
    inline int area() const
    {
        return side * side + std::abs(side - 7);
    }
    __attribute__((noinline)) int grown(int by);
};

static inline __attribute__((always_inline)) int clamp(int value)
{
    if (value > 1000)
        return 1000;
    return value < -1000 ? -1000 : value;
}

static inline __attribute__((always_inline)) int twice_clamped(int value)
{
    return clamp(value) + clamp(value + 1);
}

int Square::grown(int by)
{
    int old = side;
    side = twice_clamped(side + by);
    return old + area();
}
} // namespace shapes

template <class T> __attribute__((noinline)) T sum(const T *from, int count)
{
    T all = T();
    for (int i = 0; i < count; i++)
        all += from[i] * static_cast<T>(getchar());
    return all;
}

extern "C" __attribute__((noinline)) int plain(int x)
{
    return x > 3 ? shapes::twice_clamped(x) : puts("small");
}

int main(int argc, char **argv)
{
    shapes::Square square = {argc};
    const double doubles[] = {1.5, 2.5, 3.5};
    auto shift = [&](int by) { return square.grown(by) + plain(by); };
    if (argv[argc - 1] && argc > 5)
        printf("%f\n", sum(doubles, 3));
    return shift(argc) + sum(&argc, 1);
}

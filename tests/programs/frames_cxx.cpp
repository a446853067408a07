// C++ frames with landing pads: destructors, catch clauses, rethrowing, function try blocks,
// virtual calls, lambdas. Nothing is thrown: there is no C++ runtime in the Mach-O host; what
// counts is code whose unwind entries have a personality and a language-specific area. Needs no
// headers; what the compiler calls when something is thrown is in frames_runtime.c.
#define NOINLINE __attribute__((noinline))

static volatile long sink;

struct Problem {
    int code;
};
struct Worse : Problem {
    long more;
};

struct Guard {
    long value;
    NOINLINE explicit Guard(long v) : value(v)
    {
        sink = sink + v;
    }
    NOINLINE ~Guard()
    {
        sink = sink - value;
    }
};

NOINLINE static long work(long n)
{
    if (n > 1000000)
        throw Problem{static_cast<int>(n)};
    return n * 3 + 1;
}

NOINLINE static long guarded(int depth)
{
    Guard first(depth), second(depth + 1);
    if (depth == 0)
        return work(5);
    return guarded(depth - 1) + work(depth);
}

NOINLINE static long catching(long n)
{
    Guard guard(n);
    try {
        Guard inner(n + 1);
        return work(n) + guarded(2);
    } catch (const Worse &w) {
        return w.more;
    } catch (const Problem &p) {
        Guard other(p.code);
        throw;
    } catch (...) {
        return -1;
    }
}

NOINLINE static long looping(long n)
{
    long total = 0;
    for (long i = 0; i < n; i++) {
        Guard guard(i);
        try {
            total += i % 2 ? work(i) : catching(i);
        } catch (const Worse &w) {
            total += w.more;
        }
    }
    return total;
}

struct Shape {
    virtual ~Shape()
    {
        sink = 0;
    }
    virtual long area(long n) = 0;
};
struct Square : Shape {
    Guard side{2};
    NOINLINE long area(long n) override
    {
        return n * work(side.value);
    }
};
struct Disc : Square {
    NOINLINE long area(long n) override
    try {
        Guard guard(n);
        return Square::area(n) + work(3);
    } catch (...) {
        return 0;
    }
};

NOINLINE static long shapes(Shape &one, Shape &two)
{
    Guard guard(7);
    return one.area(2) + two.area(3);
}

template <typename Function> NOINLINE static long apply(const Function &function, long n)
{
    Guard guard(n);
    return function(n) + function(n + 1);
}

NOINLINE static long never_throws(long n) noexcept
{
    Guard guard(n);
    return work(n) + guarded(1);
}

NOINLINE static long large(long n)
{
    volatile char room[70000];
    Guard guard(n);
    room[n] = static_cast<char>(work(n));
    return room[n] + work(n);
}

NOINLINE static long tail(long n)
{
    {
        Guard guard(n);
        work(n);
    }
    return looping(n);
}

int main()
{
    Square square;
    Disc disc;
    long total = guarded(3) + catching(4) + looping(4) + shapes(square, disc);
    total += apply([total](long n) { return work(n) + total; }, 3) + never_throws(2);
    total += large(9) + tail(3);
    sink = total;
    return 0;
}

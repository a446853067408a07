// C++: exceptions through several frames, with destructors, rethrown, nested, caught by base class;
// virtual and std::function calls; the standard library's containers and streams.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

struct Guard {
    long value;
    explicit Guard(long v) : value(v)
    {
    }
    ~Guard()
    {
        sink = sink + value;
    }
};

struct Problem : std::runtime_error {
    int code;
    Problem(const std::string &what, int c) : std::runtime_error(what), code(c)
    {
    }
};

NOINLINE static int thrower(int depth)
{
    Guard guard(depth);
    if (depth == 0)
        throw Problem("deep", 42);
    return thrower(depth - 1) + 1;
}

NOINLINE static int catcher(int depth)
{
    try {
        return thrower(depth);
    } catch (const std::exception &e) {
        return static_cast<int>(std::string(e.what()).size());
    }
}

NOINLINE static int rethrower(int depth)
{
    try {
        thrower(depth);
    } catch (Problem &) {
        Guard guard(1);
        throw;
    }
    return 0;
}

NOINLINE static int nested()
{
    int total = 0;
    try {
        rethrower(3);
    } catch (const Problem &p) {
        try {
            throw 7;
        } catch (int n) {
            total = n + p.code;
        }
    }
    try {
        std::vector<int>(3).at(10) = 1;
    } catch (const std::out_of_range &) {
        total++;
    }
    return total;
}

struct Shape {
    virtual ~Shape() = default;
    virtual double area(int n) const = 0;
};
struct Square : Shape {
    double side = 2;
    NOINLINE double area(int n) const override
    {
        return n ? side * side : area(n + 1);
    }
};
struct Disc : Shape {
    NOINLINE double area(int n) const override
    {
        if (n > 2)
            throw Problem("disc", n);
        return 3.0 * n;
    }
};

NOINLINE static double shapes()
{
    std::vector<std::unique_ptr<Shape>> list;
    list.push_back(std::make_unique<Square>());
    list.push_back(std::make_unique<Disc>());
    double total = 0;
    for (int n = 0; n < 4; n++)
        for (const auto &shape : list)
            try {
                total += shape->area(n);
            } catch (const Problem &p) {
                total += p.code;
            }
    return total;
}

NOINLINE static long containers()
{
    std::map<std::string, int> words;
    std::stringstream stream("the quick brown fox jumps over the lazy dog the end");
    std::string word;
    while (stream >> word)
        words[word]++;
    std::vector<int> numbers(60);
    for (int i = 0; i < 60; i++)
        numbers[static_cast<size_t>(i)] = (i * 37) % 61;
    std::function<bool(int, int)> order = [](int a, int b) { return a > b; };
    std::sort(numbers.begin(), numbers.end(), order);
    return words["the"] + numbers[0];
}

int main()
{
    int total = catcher(0) + catcher(5) + nested();
    total += static_cast<int>(shapes()) + static_cast<int>(containers());
    std::cout << total << ' ' << 2.5 << std::endl;
    return 0;
}

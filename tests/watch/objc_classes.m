// Classes whose methods are watched. They send no messages: the model of the runtime has none.
__attribute__((objc_root_class))
@interface Base
+ (int)shared:(int)value;
- (int)inherited:(int)a;
- (int)overridden:(int)a with:(int)b;
@end

@implementation Base
+ (int)shared:(int)value
{
    return value + 1000;
}
- (int)inherited:(int)a
{
    return a + 1;
}
- (int)overridden:(int)a with:(int)b
{
    return a + b;
}
@end

@interface Derived : Base
- (int)overridden:(int)a with:(int)b;
@end

@implementation Derived
- (int)overridden:(int)a with:(int)b
{
    return a * b;
}
@end

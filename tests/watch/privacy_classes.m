// Classes with names, methods and properties of Apple's, for the groups that have them. They send
// no messages: the model of the runtime has none.
__attribute__((objc_root_class))
@interface NSUserDefaults
- (int)boolForKey:(int)key;
@end
@implementation NSUserDefaults
- (int)boolForKey:(int)key
{
    return key + 1;
}
@end

__attribute__((objc_root_class))
@interface UIDocument
@property(readonly) int fileModificationDate;
@end
@implementation UIDocument
- (int)fileModificationDate
{
    return 42;
}
@end

__attribute__((objc_root_class))
@interface UITextInputMode
@property(class, readonly) int activeInputModes;
@end
@implementation UITextInputMode
+ (int)activeInputModes
{
    return 2;
}
@end

/* Written by packaging/apple/privacy.py of privacy_apple.txt, where changes are made. */
#include "watch/privacy.h"

/* clang-format off */
const uint32_t privacy_version = 1;
const char privacy_date[] = "2026-11-23";
const char privacy_names[] =
    "@privacy"
    ", @privacy.active-keyboards"
    ", @privacy.bluetooth"
    ", @privacy.calendars"
    ", @privacy.camera"
    ", @privacy.contacts"
    ", @privacy.disk-space"
    ", @privacy.face-id"
    ", @privacy.file-timestamp"
    ", @privacy.health"
    ", @privacy.home"
    ", @privacy.local-network"
    ", @privacy.location"
    ", @privacy.media-library"
    ", @privacy.microphone"
    ", @privacy.motion"
    ", @privacy.notifications"
    ", @privacy.pasteboard"
    ", @privacy.photos"
    ", @privacy.reminders"
    ", @privacy.speech"
    ", @privacy.system-boot-time"
    ", @privacy.tracking"
    ", @privacy.user-defaults";
const struct privacy_group privacy_groups[] = {
    {.name = "active-keyboards",
     .title = "Active keyboards",
     .category = "NSPrivacyAccessedAPICategoryActiveKeyboards",
     .reasons = (const char *const[]){
         "3EC4.1",
         "54BD.1",
         NULL},
     .permissions = (const char *const[]){
         NULL},
     .calls = (const char *const[]){
         "+[UITextInputMode activeInputModes]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "bluetooth",
     .title = "Bluetooth",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSBluetoothAlwaysUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[CBCentralManager connectPeripheral:options:]",
         "-[CBCentralManager initWithDelegate:queue:]",
         "-[CBCentralManager initWithDelegate:queue:options:]",
         "-[CBCentralManager retrieveConnectedPeripheralsWithServices:]",
         "-[CBCentralManager retrievePeripheralsWithIdentifiers:]",
         "-[CBCentralManager scanForPeripheralsWithServices:options:]",
         "-[CBPeripheralManager initWithDelegate:queue:]",
         "-[CBPeripheralManager initWithDelegate:queue:options:]",
         "-[CBPeripheralManager startAdvertising:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "calendars",
     .title = "Calendars",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSCalendarsFullAccessUsageDescription",
         "NSCalendarsUsageDescription",
         "NSCalendarsWriteOnlyAccessUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[EKEventStore calendarsForEntityType:]",
         "-[EKEventStore enumerateEventsMatchingPredicate:usingBlock:]",
         "-[EKEventStore eventWithIdentifier:]",
         "-[EKEventStore eventsMatchingPredicate:]",
         "-[EKEventStore requestAccessToEntityType:completion:]",
         "-[EKEventStore requestFullAccessToEventsWithCompletion:]",
         "-[EKEventStore requestWriteOnlyAccessToEventsWithCompletion:]",
         "-[EKEventStore saveEvent:span:commit:error:]",
         "-[EKEventStore saveEvent:span:error:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "camera",
     .title = "Camera",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSCameraUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "+[AVCaptureDevice defaultDeviceWithDeviceType:mediaType:position:]",
         "+[AVCaptureDevice defaultDeviceWithMediaType:]",
         "+[AVCaptureDevice requestAccessForMediaType:completionHandler:]",
         "+[AVCaptureDeviceInput deviceInputWithDevice:error:]",
         "-[AVCaptureDeviceInput initWithDevice:error:]",
         "-[AVCaptureSession startRunning]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "contacts",
     .title = "Contacts",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSContactsUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[CNContactStore containersMatchingPredicate:error:]",
         "-[CNContactStore enumerateContactsWithFetchRequest:error:usingBlock:]",
         "-[CNContactStore enumeratorForContactFetchRequest:error:]",
         "-[CNContactStore executeSaveRequest:error:]",
         "-[CNContactStore groupsMatchingPredicate:error:]",
         "-[CNContactStore requestAccessForEntityType:completionHandler:]",
         "-[CNContactStore unifiedContactWithIdentifier:keysToFetch:error:]",
         "-[CNContactStore unifiedContactsMatchingPredicate:keysToFetch:error:]",
         "-[CNContactStore unifiedMeContactWithKeysToFetch:error:]",
         "ABAddressBookCopyArrayOfAllPeople",
         "ABAddressBookCreateWithOptions",
         "ABAddressBookRequestAccessWithCompletion",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "disk-space",
     .title = "Disk space",
     .category = "NSPrivacyAccessedAPICategoryDiskSpace",
     .reasons = (const char *const[]){
         "7D9E.1",
         "85F4.1",
         "B728.1",
         "E174.1",
         NULL},
     .permissions = (const char *const[]){
         NULL},
     .calls = (const char *const[]){
         "fgetattrlist",
         "fstatfs",
         "fstatfs$INODE64",
         "fstatvfs",
         "getattrlist",
         "getattrlistat",
         "statfs",
         "statfs$INODE64",
         "statvfs",
         NULL},
     .by_key = (const char *const[]){
         "-[NSFileManager attributesOfFileSystemForPath:error:]",
         "-[NSURL getResourceValue:forKey:error:]",
         "-[NSURL promisedItemResourceValuesForKeys:error:]",
         "-[NSURL resourceValuesForKeys:error:]",
         "CFURLCopyResourcePropertiesForKeys",
         "CFURLCopyResourcePropertyForKey",
         NULL},},
    {.name = "face-id",
     .title = "Face ID",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSFaceIDUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[LAContext canEvaluatePolicy:error:]",
         "-[LAContext evaluateAccessControl:operation:localizedReason:reply:]",
         "-[LAContext evaluatePolicy:localizedReason:reply:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "file-timestamp",
     .title = "File timestamps",
     .category = "NSPrivacyAccessedAPICategoryFileTimestamp",
     .reasons = (const char *const[]){
         "0A2A.1",
         "3B52.1",
         "C617.1",
         "DDA9.1",
         NULL},
     .permissions = (const char *const[]){
         NULL},
     .calls = (const char *const[]){
         "-[NSDictionary fileModificationDate]",
         "-[UIDocument fileModificationDate]",
         "fgetattrlist",
         "fstat",
         "fstat$INODE64",
         "fstatat",
         "fstatat$INODE64",
         "getattrlist",
         "getattrlistat",
         "getattrlistbulk",
         "lstat",
         "lstat$INODE64",
         "stat",
         "stat$INODE64",
         NULL},
     .by_key = (const char *const[]){
         "-[NSFileManager attributesOfItemAtPath:error:]",
         "-[NSURL getPromisedItemResourceValue:forKey:error:]",
         "-[NSURL getResourceValue:forKey:error:]",
         "-[NSURL promisedItemResourceValuesForKeys:error:]",
         "-[NSURL resourceValuesForKeys:error:]",
         "CFURLCopyResourcePropertiesForKeys",
         "CFURLCopyResourcePropertyForKey",
         NULL},},
    {.name = "health",
     .title = "HealthKit",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSHealthShareUsageDescription",
         "NSHealthUpdateUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[HKHealthStore bloodTypeWithError:]",
         "-[HKHealthStore dateOfBirthComponentsWithError:]",
         "-[HKHealthStore executeQuery:]",
         "-[HKHealthStore requestAuthorizationToShareTypes:readTypes:completion:]",
         "-[HKHealthStore saveObject:withCompletion:]",
         "-[HKHealthStore saveObjects:withCompletion:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "home",
     .title = "HomeKit",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSHomeKitUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[HMHomeManager addHomeWithName:completionHandler:]",
         "-[HMHomeManager homes]",
         "-[HMHomeManager primaryHome]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "local-network",
     .title = "Local network",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSLocalNetworkUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[NSNetService publishWithOptions:]",
         "-[NSNetService publish]",
         "-[NSNetService resolveWithTimeout:]",
         "-[NSNetServiceBrowser searchForServicesOfType:inDomain:]",
         "DNSServiceBrowse",
         "DNSServiceQueryRecord",
         "DNSServiceRegister",
         "DNSServiceResolve",
         "nw_browser_create",
         "nw_listener_create",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "location",
     .title = "Location",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSLocationAlwaysAndWhenInUseUsageDescription",
         "NSLocationAlwaysUsageDescription",
         "NSLocationUsageDescription",
         "NSLocationWhenInUseUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[CLLocationManager location]",
         "-[CLLocationManager requestAlwaysAuthorization]",
         "-[CLLocationManager requestLocation]",
         "-[CLLocationManager requestTemporaryFullAccuracyAuthorizationWithPurposeKey:]",
         "-[CLLocationManager requestTemporaryFullAccuracyAuthorizationWithPurposeKey:completion:]",
         "-[CLLocationManager requestWhenInUseAuthorization]",
         "-[CLLocationManager startMonitoringForRegion:]",
         "-[CLLocationManager startMonitoringSignificantLocationChanges]",
         "-[CLLocationManager startMonitoringVisits]",
         "-[CLLocationManager startRangingBeaconsSatisfyingConstraint:]",
         "-[CLLocationManager startUpdatingHeading]",
         "-[CLLocationManager startUpdatingLocation]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "media-library",
     .title = "Media library",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSAppleMusicUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "+[MPMediaLibrary defaultMediaLibrary]",
         "+[MPMediaLibrary requestAuthorization:]",
         "-[MPMediaQuery collections]",
         "-[MPMediaQuery items]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "microphone",
     .title = "Microphone",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSMicrophoneUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "+[AVAudioApplication requestRecordPermissionWithCompletionHandler:]",
         "+[AVCaptureDevice defaultDeviceWithMediaType:]",
         "+[AVCaptureDevice requestAccessForMediaType:completionHandler:]",
         "-[AVAudioRecorder recordAtTime:]",
         "-[AVAudioRecorder recordForDuration:]",
         "-[AVAudioRecorder record]",
         "-[AVAudioSession requestRecordPermission:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "motion",
     .title = "Motion and fitness",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSMotionUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[CMAltimeter startRelativeAltitudeUpdatesToQueue:withHandler:]",
         "-[CMMotionActivityManager queryActivityStartingFromDate:toDate:toQueue:withHandler:]",
         "-[CMMotionActivityManager startActivityUpdatesToQueue:withHandler:]",
         "-[CMPedometer queryPedometerDataFromDate:toDate:withHandler:]",
         "-[CMPedometer startPedometerEventUpdatesWithHandler:]",
         "-[CMPedometer startPedometerUpdatesFromDate:withHandler:]",
         "-[CMSensorRecorder accelerometerDataFromDate:toDate:]",
         "-[CMSensorRecorder recordAccelerometerForDuration:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "notifications",
     .title = "Notifications",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         NULL},
     .calls = (const char *const[]){
         "-[UNUserNotificationCenter requestAuthorizationWithOptions:completionHandler:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "pasteboard",
     .title = "Pasteboard",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         NULL},
     .calls = (const char *const[]){
         "+[NSPasteboard generalPasteboard]",
         "+[UIPasteboard generalPasteboard]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "photos",
     .title = "Photos",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSPhotoLibraryAddUsageDescription",
         "NSPhotoLibraryUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "+[PHAsset fetchAssetsInAssetCollection:options:]",
         "+[PHAsset fetchAssetsWithLocalIdentifiers:options:]",
         "+[PHAsset fetchAssetsWithMediaType:options:]",
         "+[PHAsset fetchAssetsWithOptions:]",
         "+[PHAssetCollection fetchAssetCollectionsWithType:subtype:options:]",
         "+[PHPhotoLibrary requestAuthorization:]",
         "+[PHPhotoLibrary requestAuthorizationForAccessLevel:handler:]",
         "-[PHImageManager requestAVAssetForVideo:options:resultHandler:]",
         "-[PHImageManager requestImageDataAndOrientationForAsset:options:resultHandler:]",
         "-[PHImageManager requestImageForAsset:targetSize:contentMode:options:resultHandler:]",
         "-[PHPhotoLibrary performChanges:completionHandler:]",
         "-[PHPhotoLibrary performChangesAndWait:error:]",
         "UIImageWriteToSavedPhotosAlbum",
         "UISaveVideoAtPathToSavedPhotosAlbum",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "reminders",
     .title = "Reminders",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSRemindersFullAccessUsageDescription",
         "NSRemindersUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "-[EKEventStore calendarsForEntityType:]",
         "-[EKEventStore fetchRemindersMatchingPredicate:completion:]",
         "-[EKEventStore requestAccessToEntityType:completion:]",
         "-[EKEventStore requestFullAccessToRemindersWithCompletion:]",
         "-[EKEventStore saveReminder:commit:error:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "speech",
     .title = "Speech recognition",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSSpeechRecognitionUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "+[SFSpeechRecognizer requestAuthorization:]",
         "-[SFSpeechRecognizer recognitionTaskWithRequest:delegate:]",
         "-[SFSpeechRecognizer recognitionTaskWithRequest:resultHandler:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "system-boot-time",
     .title = "System boot time",
     .category = "NSPrivacyAccessedAPICategorySystemBootTime",
     .reasons = (const char *const[]){
         "35F9.1",
         "3D61.1",
         "8FFB.1",
         NULL},
     .permissions = (const char *const[]){
         NULL},
     .calls = (const char *const[]){
         "-[NSProcessInfo systemUptime]",
         "mach_absolute_time",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "tracking",
     .title = "Tracking",
     .reasons = (const char *const[]){
         NULL},
     .permissions = (const char *const[]){
         "NSUserTrackingUsageDescription",
         NULL},
     .calls = (const char *const[]){
         "+[ATTrackingManager requestTrackingAuthorizationWithCompletionHandler:]",
         "-[ASIdentifierManager advertisingIdentifier]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
    {.name = "user-defaults",
     .title = "User defaults",
     .category = "NSPrivacyAccessedAPICategoryUserDefaults",
     .reasons = (const char *const[]){
         "1C8F.1",
         "AC6B.1",
         "C56D.1",
         "CA92.1",
         NULL},
     .permissions = (const char *const[]){
         NULL},
     .calls = (const char *const[]){
         "+[NSUserDefaults standardUserDefaults]",
         "-[NSUserDefaults URLForKey:]",
         "-[NSUserDefaults addSuiteNamed:]",
         "-[NSUserDefaults arrayForKey:]",
         "-[NSUserDefaults boolForKey:]",
         "-[NSUserDefaults dataForKey:]",
         "-[NSUserDefaults dictionaryForKey:]",
         "-[NSUserDefaults dictionaryRepresentation]",
         "-[NSUserDefaults doubleForKey:]",
         "-[NSUserDefaults floatForKey:]",
         "-[NSUserDefaults initWithSuiteName:]",
         "-[NSUserDefaults integerForKey:]",
         "-[NSUserDefaults objectForKey:]",
         "-[NSUserDefaults objectIsForcedForKey:]",
         "-[NSUserDefaults persistentDomainForName:]",
         "-[NSUserDefaults registerDefaults:]",
         "-[NSUserDefaults removeObjectForKey:]",
         "-[NSUserDefaults removePersistentDomainForName:]",
         "-[NSUserDefaults removeSuiteNamed:]",
         "-[NSUserDefaults setBool:forKey:]",
         "-[NSUserDefaults setDouble:forKey:]",
         "-[NSUserDefaults setFloat:forKey:]",
         "-[NSUserDefaults setInteger:forKey:]",
         "-[NSUserDefaults setObject:forKey:]",
         "-[NSUserDefaults setPersistentDomain:forName:]",
         "-[NSUserDefaults setURL:forKey:]",
         "-[NSUserDefaults setVolatileDomain:forName:]",
         "-[NSUserDefaults stringArrayForKey:]",
         "-[NSUserDefaults stringForKey:]",
         "-[NSUserDefaults synchronize]",
         "-[NSUserDefaults volatileDomainForName:]",
         NULL},
     .by_key = (const char *const[]){
         NULL},},
};
const size_t privacy_group_count = sizeof privacy_groups / sizeof *privacy_groups;

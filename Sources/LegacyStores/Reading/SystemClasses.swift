/// The classes of Apple's frameworks that apps archive. Prefixes don't tell them: an app's own class may be called
/// `PHPatient` or `SKTrick`.
///
/// A class that is missing here counts as the app's own: its objects in lists become items, so they are not lost.
enum SystemClasses {
  /// The names, without the underscores that begin some of them.
  static let names = Set(
    [foundation, interface, places, others].flatMap { $0.split(separator: " ") }.map(String.init))

  private static let foundation = """
    NSArray NSMutableArray NSDictionary NSMutableDictionary NSSet NSMutableSet NSCountedSet NSOrderedSet \
    NSMutableOrderedSet NSHashTable NSMapTable NSPointerArray NSPointerFunctions NSConcreteHashTable \
    NSConcreteMapTable NSConcretePointerArray NSConcretePointerFunctions NSSharedKeyDictionary NSSharedKeySet NSCache \
    NSKeyedCoderOldStyleArray NSObject NSNull NSValue NSConcreteValue NSNumber NSDecimalNumber \
    NSDecimalNumberPlaceholder NSDecimalNumberHandler NSString NSMutableString NSConstantString NSLocalizableString \
    NSCFString NSCFConstantString NSCFNumber NSCFBoolean NSCFArray NSCFDictionary NSCFSet NSCFData NSData \
    NSMutableData NSPurgeableData NSDate NSCalendarDate NSDateComponents NSDateInterval NSCalendar NSTimeZone \
    NSLocale NSURL NSURLComponents NSURLQueryItem NSURLRequest NSMutableURLRequest NSURLResponse NSHTTPURLResponse \
    NSCachedURLResponse NSURLCredential NSURLProtectionSpace NSHTTPCookie NSUUID NSIndexPath NSIndexSet \
    NSMutableIndexSet NSCharacterSet NSMutableCharacterSet NSError NSException NSNotification NSConcreteNotification \
    NSPredicate NSComparisonPredicate NSCompoundPredicate NSExpression NSSortDescriptor NSRegularExpression \
    NSDataDetector NSTextCheckingResult NSExtendedRegularExpressionCheckingResult \
    NSSimpleRegularExpressionCheckingResult NSOrthography NSFormatter NSDateFormatter NSNumberFormatter \
    NSByteCountFormatter NSDateComponentsFormatter NSDateIntervalFormatter NSISO8601DateFormatter NSLengthFormatter \
    NSMassFormatter NSListFormatter NSMeasurementFormatter NSPersonNameComponentsFormatter NSPersonNameComponents \
    NSMeasurement NSUnit NSDimension NSUnitAcceleration NSUnitAngle NSUnitArea NSUnitConcentrationMass \
    NSUnitConverter NSUnitConverterLinear NSUnitDispersion NSUnitDuration NSUnitElectricCharge NSUnitElectricCurrent \
    NSUnitElectricPotentialDifference NSUnitElectricResistance NSUnitEnergy NSUnitFrequency NSUnitFuelEfficiency \
    NSUnitIlluminance NSUnitInformationStorage NSUnitLength NSUnitMass NSUnitPower NSUnitPressure NSUnitSpeed \
    NSUnitTemperature NSUnitVolume NSAffineTransform NSUserActivity NSItemProvider NSProgress NSFileWrapper \
    NSManagedObjectID NSPersistentHistoryToken NSQueryGenerationToken CFString CFArray CFDictionary CFNumber CFData \
    CFDate CFURL CFUUID CFBoolean CFSet CFTimeZone
    """

  private static let interface = """
    NSAttributedString NSMutableAttributedString NSConcreteAttributedString NSConcreteMutableAttributedString \
    NSTextStorage NSConcreteTextStorage NSTextAttachment NSTextTab NSTextBlock NSTextTable NSTextTableBlock \
    NSTextList NSParagraphStyle NSMutableParagraphStyle NSShadow NSGlyphInfo NSFont NSFontDescriptor NSColor \
    NSColorSpace NSColorList NSGradient NSAdaptiveImageGlyph UIFont UICTFont UIFontDescriptor NSImage NSImageRep \
    NSBitmapImageRep NSPDFImageRep NSEPSImageRep NSCachedImageRep NSCustomImageRep NSCIImageRep NSCursor NSSound \
    NSBezierPath NSResponder NSView NSControl NSButton NSTextField NSTextView NSImageView NSScrollView NSWindow \
    NSMenu NSMenuItem NSToolbarItem NSPrintInfo NSLayoutConstraint NSAppearance UIColor UIDeviceRGBColor \
    UIDeviceWhiteColor UICachedDeviceRGBColor UICachedDeviceWhiteColor UIDisplayP3Color UICIColor UIPlaceholderColor \
    UIDynamicProviderColor UIDynamicCatalogColor UIDynamicSystemColor UIImage UIImageAsset UIImageConfiguration \
    UIImageSymbolConfiguration UIAnimatedImage UITraitCollection UIBezierPath UIBarItem UIBarButtonItem UITabBarItem \
    UINavigationItem UIView UIControl UILabel UIButton UIImageView UIScrollView UITextField UITextView UITableView \
    UITableViewCell UICollectionView UICollectionViewCell UIWindow UIResponder UIViewController \
    UINavigationController UITabBarController UITableViewController UIDocument UIApplicationShortcutItem \
    UIApplicationShortcutIcon UIMutableApplicationShortcutItem UILocalNotification UIConcreteLocalNotification \
    UIUserNotificationAction UIMutableUserNotificationAction UIUserNotificationCategory \
    UIMutableUserNotificationCategory UIUserNotificationSettings CGColor CGImage CGPath CALayer CAShapeLayer \
    CATextLayer CAGradientLayer CAEmitterLayer CAEmitterCell CAAnimation CAPropertyAnimation CABasicAnimation \
    CAKeyframeAnimation CASpringAnimation CAAnimationGroup CATransition CAMediaTimingFunction CAFilter CAState \
    CAStateTransition CAStateSetValue
    """

  private static let places = """
    CLLocation CLPlacemark CLRegion CLCircularRegion CLBeaconRegion CLBeacon CLBeaconIdentityConstraint CLHeading \
    CLVisit CLFloor CLLocationSourceInformation CLLocationMatchInfo CLLocationPrivateExtension MKPlacemark MKMapItem \
    MKMapView MKPointAnnotation MKUserLocation MKAnnotationView MKShape MKCircle MKPolyline MKPolygon \
    MKGeodesicPolyline MKMultiPolyline MKMultiPolygon MKMapCamera MKMapItemIdentifier MKPointOfInterestFilter
    """

  private static let others = """
    SKNode SKScene SKView SKSpriteNode SKLabelNode SKShapeNode SKEmitterNode SKCameraNode SKAudioNode SKCropNode \
    SKEffectNode SKFieldNode SKLightNode SKReferenceNode SKVideoNode SKTileMapNode SKTileSet SKTileGroup \
    SKTileDefinition SKTexture SKTextureAtlas SKAction SKConstraint SKRange SKKeyframeSequence SKPhysicsBody \
    SKPhysicsWorld SKPhysicsJoint SKRegion SKProduct SKPayment SKPaymentTransaction GKAchievement GKScore \
    GKLeaderboard GKPlayer GKLocalPlayer GKScene GKEntity GKComponent GKGraph GKGraphNode GKGridGraph \
    GKSKNodeComponent GKRandomSource GKARC4RandomSource GKMersenneTwisterRandomSource SKShader SKUniform AVAsset \
    AVURLAsset AVMetadataItem AVMutableMetadataItem AVAudioFormat AVAudioChannelLayout \
    AVAudioUnitComponent AVMediaSelectionOption AVSpeechUtterance AVSpeechSynthesisVoice MPMediaItem \
    MPConcreteMediaItem MPMediaEntity MPMediaItemCollection MPMediaPlaylist MPMediaQuery MPMediaPredicate PHObject \
    PHAsset PHCollection PHAssetCollection PHCollectionList PHAdjustmentData PHLivePhoto PHPersistentChangeToken \
    PHCloudIdentifier CKRecord CKRecordID CKRecordZone CKRecordZoneID CKReference CKRecordReference CKAsset \
    CKContainerID CKShare CKShareParticipant CKShareMetadata CKUserIdentity CKUserIdentityLookupInfo CKSubscription \
    CKQuerySubscription CKDatabaseSubscription CKRecordZoneSubscription CKNotification CKNotificationInfo \
    CKNotificationID CKQuery CKQueryCursor CKServerChangeToken CKSyncEngineStateSerialization
    """
}

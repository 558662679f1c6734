/// The classes of Apple's frameworks that apps archive. Prefixes don't tell them: an app's own class may be called
/// `PHPatient` or `SKTrick`.
///
/// A class that is missing here counts as the app's own: its objects in lists become items, so they are not lost.
enum SystemClasses {
  /// The names, without the underscores that begin some of them.
  static let names = Set(
    [foundation, text, interface, graphics, places, games, media, others].flatMap { $0.split(separator: " ") }
      .map(String.init))

  private static let foundation = """
    NSArray NSMutableArray NSDictionary NSMutableDictionary NSSet NSMutableSet NSCountedSet NSOrderedSet \
    NSMutableOrderedSet NSHashTable NSMapTable NSPointerArray NSPointerFunctions NSConcreteHashTable NSConcreteMapTable \
    NSConcretePointerArray NSConcretePointerFunctions NSSharedKeyDictionary NSSharedKeySet NSCache NSKnownKeysDictionary \
    NSKeyedCoderOldStyleArray NSObject NSProxy NSNull NSValue NSConcreteValue NSNumber NSDecimalNumber \
    NSDecimalNumberPlaceholder NSDecimalNumberHandler NSString NSMutableString NSConstantString NSLocalizableString \
    NSCFString NSCFConstantString NSCFNumber NSCFBoolean NSCFArray NSCFDictionary NSCFSet NSCFData NSData NSMutableData \
    NSPurgeableData NSDate NSCalendarDate NSDateComponents NSDateInterval NSCalendar NSTimeZone NSLocale NSURL NSURLComponents \
    NSURLQueryItem NSURLRequest NSMutableURLRequest NSURLResponse NSHTTPURLResponse NSCachedURLResponse NSURLCredential \
    NSURLProtectionSpace NSURLSessionConfiguration NSURLSessionTaskMetrics NSHTTPCookie NSUUID NSIndexPath NSIndexSet \
    NSMutableIndexSet NSCharacterSet NSMutableCharacterSet NSError NSException NSNotification NSConcreteNotification \
    NSPredicate NSComparisonPredicate NSCompoundPredicate NSExpression NSSortDescriptor NSRegularExpression \
    NSDataDetector NSTextCheckingResult NSExtendedRegularExpressionCheckingResult NSSimpleRegularExpressionCheckingResult \
    NSOrthography NSLinguisticTagger NSMorphology NSInflectionRule NSFormatter NSDateFormatter NSNumberFormatter \
    NSByteCountFormatter NSDateComponentsFormatter NSDateIntervalFormatter NSISO8601DateFormatter NSEnergyFormatter \
    NSLengthFormatter NSMassFormatter NSListFormatter NSMeasurementFormatter NSPersonNameComponentsFormatter \
    NSRelativeDateTimeFormatter NSPersonNameComponents NSMeasurement NSUnit NSDimension NSUnitAcceleration NSUnitAngle \
    NSUnitArea NSUnitConcentrationMass NSUnitConverter NSUnitConverterLinear NSUnitDispersion NSUnitDuration \
    NSUnitElectricCharge NSUnitElectricCurrent NSUnitElectricPotentialDifference NSUnitElectricResistance NSUnitEnergy \
    NSUnitFrequency NSUnitFuelEfficiency NSUnitIlluminance NSUnitInformationStorage NSUnitLength NSUnitMass NSUnitPower \
    NSUnitPressure NSUnitSpeed NSUnitTemperature NSUnitVolume NSAffineTransform NSUserActivity NSItemProvider NSProgress \
    NSFileWrapper NSAppleEventDescriptor NSClassDescription NSPort NSMachPort NSSocketPort NSPortMessage NSDistantObject \
    NSInvocation NSFileHandle NSUbiquitousKeyValueStore NSXPCListenerEndpoint NSManagedObjectID NSManagedObjectModel \
    NSEntityDescription NSPropertyDescription NSAttributeDescription NSRelationshipDescription \
    NSFetchedPropertyDescription NSExpressionDescription NSFetchRequest NSFetchRequestExpression NSFetchIndexDescription \
    NSFetchIndexElementDescription NSPersistentHistoryToken NSQueryGenerationToken NSMergePolicy NSPropertyMapping \
    NSEntityMapping NSMappingModel
    """

  private static let text = """
    NSAttributedString NSMutableAttributedString NSConcreteAttributedString NSConcreteMutableAttributedString \
    NSTextStorage NSConcreteTextStorage NSTextAttachment NSTextAttachmentCell NSTextTab NSTextBlock NSTextTable \
    NSTextTableBlock NSTextList NSTextContainer NSLayoutManager NSTextView NSParagraphStyle NSMutableParagraphStyle \
    NSShadow NSGlyphInfo NSFont NSFontDescriptor NSColor NSColorSpace NSColorList NSGradient NSAdaptiveImageGlyph \
    UIFont UICTFont UIFontDescriptor UITextInputMode UITextView UITextField UITextAttachment
    """

  private static let interface = """
    NSImage NSImageRep NSBitmapImageRep NSPDFImageRep NSEPSImageRep NSCachedImageRep NSCustomImageRep NSCIImageRep \
    NSCursor NSSound NSBezierPath NSView NSControl NSCell NSActionCell NSButton NSButtonCell NSTextField NSTextFieldCell \
    NSImageView NSImageCell NSTableView NSTableColumn NSTableHeaderView NSTableHeaderCell NSOutlineView NSScrollView \
    NSClipView NSScroller NSBox NSSplitView NSStackView NSTabView NSTabViewItem NSWindow NSWindowTemplate \
    NSWindowController NSViewController NSMenu NSMenuItem NSPopUpButton NSPopUpButtonCell NSSlider NSSliderCell \
    NSProgressIndicator NSToolbar NSToolbarItem NSResponder NSApplication NSDocument NSPrintInfo NSPrinter NSPDFInfo \
    NSNibConnector NSNibControlConnector NSNibOutletConnector NSIBObjectData NSCustomObject NSCustomView \
    NSLayoutConstraint NSAppearance NSTrackingArea NSArrayController NSObjectController NSTreeController \
    NSCollectionView NSCollectionViewItem NSSearchField NSSegmentedControl NSStepper NSDatePicker NSLevelIndicator \
    NSVisualEffectView NSGridView NSTouchBar NSDataAsset NSSpellChecker \
    UIColor UIDeviceRGBColor UIDeviceWhiteColor UICachedDeviceRGBColor UICachedDeviceWhiteColor UIDisplayP3Color \
    UIExtendedSRGBColorSpace UIExtendedGrayColorSpace UICIColor UIPlaceholderColor UIDynamicProviderColor \
    UIDynamicCatalogColor UIDynamicSystemColor UIImage UIImageAsset UIImageConfiguration UIImageSymbolConfiguration \
    UIAnimatedImage UITraitCollection UIBezierPath UIBarItem UIBarButtonItem UITabBarItem UINavigationItem UIView \
    UIControl UILabel UIButton UIImageView UIScrollView UITableView UITableViewCell UICollectionView UICollectionViewCell \
    UIWindow UIScreen UIViewController UINavigationController UITabBarController UITableViewController UIResponder \
    UIStoryboard UINib UISwitch UISlider UIStepper UISegmentedControl UIPageControl UIPickerView UIDatePicker \
    UIProgressView UIActivityIndicatorView UIToolbar UINavigationBar UITabBar UISearchBar UIStackView UIVisualEffect \
    UIBlurEffect UIVibrancyEffect UIVisualEffectView UIMotionEffect UIInterpolatingMotionEffect UIGestureRecognizer \
    UILayoutGuide UIPasteboard UIDocument UIApplicationShortcutItem UIApplicationShortcutIcon UIMutableApplicationShortcutItem \
    UIMenu UIAction UICommand UIKeyCommand UIWebView UILocalNotification UIConcreteLocalNotification \
    UIUserNotificationAction UIMutableUserNotificationAction UIUserNotificationCategory UIMutableUserNotificationCategory \
    UIUserNotificationSettings UIPrintInfo UIPrintPaper UIPreviewAction UISceneConfiguration UISceneSession UIKeyboard \
    WKWebView WKWebViewConfiguration WKPreferences WKProcessPool WKUserContentController WKWebsiteDataStore
    """

  private static let graphics = """
    CGColor CGImage CGPath CFString CFArray CFDictionary CFNumber CFData CFDate CFURL CFUUID CFBoolean CFSet CFTimeZone \
    CALayer CAShapeLayer CATextLayer CAGradientLayer CAScrollLayer CAEmitterLayer CAEmitterCell CAReplicatorLayer \
    CATransformLayer CATiledLayer CAMetalLayer CAAnimation CAPropertyAnimation CABasicAnimation CAKeyframeAnimation \
    CASpringAnimation CAAnimationGroup CATransition CAMediaTimingFunction CAValueFunction CAFilter CAState \
    CAStateTransition CAStateSetValue CADisplayLink
    """

  private static let places = """
    CLLocation CLPlacemark CLRegion CLCircularRegion CLBeaconRegion CLBeacon CLBeaconIdentityConstraint CLHeading CLVisit \
    CLFloor CLLocationSourceInformation CLLocationMatchInfo CLLocationPrivateExtension MKPlacemark MKMapItem MKMapView \
    MKPointAnnotation MKUserLocation MKAnnotationView MKPinAnnotationView MKMarkerAnnotationView MKShape MKCircle MKPolyline \
    MKPolygon MKGeodesicPolyline MKMultiPolyline MKMultiPolygon MKTileOverlay MKMapCamera MKMapConfiguration \
    MKStandardMapConfiguration MKImageryMapConfiguration MKHybridMapConfiguration MKPointOfInterestFilter \
    MKMapItemIdentifier MKAddressFilter MKDistanceFormatter MKMapCameraZoomRange MKMapCameraBoundary MKMapSnapshotOptions
    """

  private static let games = """
    SKNode SKScene SKView SKSpriteNode SKLabelNode SKShapeNode SKEmitterNode SKCameraNode SKAudioNode SKCropNode \
    SKEffectNode SKFieldNode SKLightNode SKReferenceNode SKVideoNode SK3DNode SKTransformNode SKTileMapNode SKTileSet \
    SKTileGroup SKTileGroupRule SKTileDefinition SKTexture SKMutableTexture SKTextureAtlas SKAction SKActionSequence \
    SKConstraint SKRange SKReachConstraints SKKeyframeSequence SKShader SKUniform SKAttribute SKAttributeValue SKWarpGeometry \
    SKWarpGeometryGrid SKPhysicsBody SKPhysicsWorld SKPhysicsJoint SKPhysicsJointFixed SKPhysicsJointLimit SKPhysicsJointPin \
    SKPhysicsJointSliding SKPhysicsJointSpring SKRegion SKProduct SKPayment SKMutablePayment SKPaymentTransaction SKDownload \
    GKAchievement GKScore GKLeaderboard GKPlayer GKLocalPlayer GKScene GKEntity GKComponent GKComponentSystem \
    GKAgent GKAgent2D GKAgent3D GKBehavior GKGoal GKGraph GKGraphNode GKGraphNode2D GKGraphNode3D GKGridGraph \
    GKGridGraphNode GKObstacleGraph GKMeshGraph GKSKNodeComponent GKSCNNodeComponent GKObstacle GKCircleObstacle \
    GKPolygonObstacle GKSphereObstacle GKPath GKStateMachine GKState GKDecisionTree GKDecisionNode GKRule GKNSPredicateRule \
    GKRuleSystem GKRandomSource GKARC4RandomSource GKLinearCongruentialRandomSource GKMersenneTwisterRandomSource \
    GKRandomDistribution GKGaussianDistribution GKShuffledDistribution
    """

  private static let media = """
    AVAsset AVURLAsset AVMetadataItem AVMutableMetadataItem AVMetadataGroup AVTimedMetadataGroup AVAudioFormat \
    AVAudioChannelLayout AVAudioUnitComponent AVAudioPCMBuffer AVVideoComposition AVMutableVideoComposition AVAudioMix \
    AVMediaSelectionGroup AVMediaSelectionOption AVMediaSelection AVMutableMediaSelection AVPlayerItem \
    AVSpeechUtterance AVSpeechSynthesisVoice AVSemanticSegmentationMatte AVDepthData AVOutputSettingsAssistant \
    MPMediaItem MPConcreteMediaItem MPMediaEntity MPMediaItemCollection MPMediaPlaylist MPConcreteMediaPlaylist \
    MPMediaQuery MPMediaPredicate MPMediaPropertyPredicate MPMediaItemArtwork MPMediaLibrary MPContentItem \
    MPNowPlayingContentItem PHObject PHAsset PHCollection PHAssetCollection PHCollectionList PHAdjustmentData \
    PHLivePhoto PHImageRequestOptions PHFetchOptions PHPersistentChangeToken PHContentEditingInput \
    PHContentEditingOutput PHProject PHCloudIdentifier
    """

  private static let others = """
    CKRecord CKRecordID CKRecordZone CKRecordZoneID CKReference CKRecordReference CKAsset CKContainerID CKShare \
    CKShareParticipant CKShareMetadata CKUserIdentity CKUserIdentityLookupInfo CKSubscription CKQuerySubscription \
    CKDatabaseSubscription CKRecordZoneSubscription CKNotification CKNotificationInfo CKNotificationID \
    CKQuery CKQueryCursor CKServerChangeToken CKLocationSortDescriptor CKOperationConfiguration CKOperationGroup \
    CKEncryptedData CKPackage CKPublicKey CKSyncEngineStateSerialization
    """
}

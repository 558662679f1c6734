// Types named as those of SwiftUI, RealityKit, GRDB, CryptoKit and Objective-C. Who imports this module and the
// journal's must get these by their plain names: `ForeignNamesTests` does not compile otherwise.

package struct Category {}
package struct Color {}
package struct Digest {}
package struct Entity {}
package struct Event {}
package struct Image {}
package struct Index {}
package struct Item {}
package struct Label {}
package struct List {}
package struct Query {}
package struct Record {}
package struct Row {}
package struct State {}
package struct Table {}
package struct Text {}
package struct Transaction {}
package struct Value {}

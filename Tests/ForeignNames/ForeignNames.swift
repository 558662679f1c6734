// Types with the names of types in SwiftUI, RealityKit, GRDB, CryptoKit and Objective-C. A file that imports this
// module and the journal's must get these types by their plain names. Otherwise `ForeignNamesTests` does not compile.

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

/// Checks an XML property list, and gives its binary form.
func xmlPropertyListInBinaryForm(
  _ bytes: ArchiveBytes, limits: ArchiveLimits
) throws(ArchiveError) -> ArchiveBytes {
  throw ArchiveError(.unsupportedFormat, "XML is not read yet", offset: 0, path: bytes.path)
}

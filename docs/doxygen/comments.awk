# Doxygen's view of a header. In a comment, a line that is indented after an empty line begins a block of code, as in
# the sources of this project; Doxygen wants four more columns. Friends are no part of the reference. Nor are concepts
# without a comment, which Doxygen would list without writing a page of them.
dropping { if ($0 ~ last) dropping = 0; next }
/^template </ && !commented { held = held $0 "\n"; next }
held != "" && /^concept / { held = ""; dropping = !/;$/; last = /{$/ ? "^};" : ";$"; next }
held != "" { printf "%s", held; held = "" }
{ commented = /^ *\/\/\// }
/^ *friend / && !/operator/ { next }
/^ *\/\/\/ *$/ { empty = 1; code = 0; print; next }
/^ *\/\/\/   / {
  if (empty || code) { code = 1; sub(/\/\/\/ /, "///     ") }
  empty = 0
  print
  next
}
{ empty = 0; code = 0; print }

# Doxygen's view of a header, line for line. In a comment, a line that is indented after an empty line begins a block of code,
# as in the sources of this project; Doxygen wants four more columns. Friends are no part of the reference.
{ sub(/\/\/\/ @cond .*/, "/// @cond") }
/^ *friend / && !/operator/ { print ""; next }
/^ *\/\/\/ *$/ { empty = 1; code = 0; print; next }
/^ *\/\/\/   / {
  if (empty || code) { code = 1; sub(/\/\/\/ /, "///     ") }
  empty = 0
  print
  next
}
{ empty = 0; code = 0; print }

# The text that comes with the program: Debian's common licences, one after the other in alphabetical order of their names.
# It is joined when the build is configured, and installed with the assets.
set(ATTOSCOPE_LICENCES /usr/share/common-licenses CACHE PATH "Folder of licences whose text models are trained on")
set(shipped_text ${CMAKE_BINARY_DIR}/share/attoscope/assets/texts/common_licences.txt)

file(GLOB licences LIST_DIRECTORIES false ${ATTOSCOPE_LICENCES}/*)
set(joined_text "")
foreach(licence IN LISTS licences)
  file(READ ${licence} licence_text)
  string(APPEND joined_text "${licence_text}")
endforeach()

if(NOT licences)
  message(STATUS "There are no licences in ${ATTOSCOPE_LICENCES} (only Debian has them): the program has no text of its own to train on.")
  file(REMOVE ${shipped_text})
else()
  file(WRITE ${shipped_text} "${joined_text}")
endif()

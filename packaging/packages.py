"""Makes the packages of what packaging/build.sh has built, into dist/.

packaging/packages.py [KIND...]     default: all of tarballs windows debs wheels image maven
"""

import sys

import debs
import image
import maven
import tarballs
import wheels
import windows

KINDS = {
    "tarballs": tarballs.make,
    "windows": windows.make,
    "debs": debs.make,
    "wheels": wheels.make,
    "image": image.make,
    "maven": maven.make,
}

for kind in sys.argv[1:] or KINDS:
    KINDS[kind]()

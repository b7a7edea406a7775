"""Prints the commands that publish what is in dist/.

packaging/publish.py VERSION
"""

import sys

version = sys.argv[1]
print(f"""# Publishing tyrion {version}

`make release` has changed `CHANGELOG.md`, `Cargo.toml` and `Cargo.lock`, and made what is in
this folder. It has committed, tagged and published nothing. Before anything else:

    make dist-check                 # installs each package in an empty place, and uses it
    git diff                        # the version and the section of CHANGELOG.md

Then, each where you have the right to:

    git commit -am "Release {version}" && git tag -s v{version} -m "tyrion {version}"
    git push origin HEAD v{version}

    # All files, on the page of the release, with the section of CHANGELOG.md.
    gh release create v{version} --title "tyrion {version}" --notes-file dist/NOTES.md \\
        dist/*.tar.gz dist/*.zip dist/*.deb dist/*.whl dist/*-oci.tar dist/*.html dist/SHA256SUMS dist/*.cdx.json \\
        dist/THIRD-PARTY-LICENSES dist/SIZES.txt dist/COMPILERS.txt

    # PyPI
    twine upload dist/*.whl

    # crates.io, from the folder that has the agents in it; Cargo goes in the right order.
    (cd target/dist-crates && cargo publish --allow-dirty --no-verify -p tyrion-wire \\
        -p tyrion-harmless -p tyrion-stacks -p tyrion-options -p tyrion-formats -p tyrion-model \\
        -p tyrion-converters -p tyrion-whatif -p tyrion-report -p tyrion-page -p tyrion)

    # A registry of images
    skopeo copy --all oci-archive:dist/tyrion-{version}-oci.tar \\
        docker://REGISTRY/tyrion:{version}

    # Maven Central takes a zip of signed files. The group must have been claimed there.
    (cd dist/maven && find . -type f -name 'tyrion-*' ! -name '*.md5' ! -name '*.sha*' \\
        -exec gpg --armor --detach-sign {{}} \\; && zip -r ../tyrion-{version}-central.zip .)

Whoever wants to know that this is what the commit makes builds it again: `make dist` gives the
same bytes, with the compilers in `COMPILERS.txt`.
""")

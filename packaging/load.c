/* Loads a library, and looks for what a JVM calls in an agent. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words) {
    void *library = dlopen(words[count - 1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return !dlsym(library, "Agent_OnLoad") || !dlsym(library, "Agent_OnAttach");
}

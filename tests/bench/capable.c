/* An agent that asks for JVMTI's capability of virtual threads, and for nothing else. */
#include <jvmti.h>
#include <string.h>

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    jvmtiEnv *jvmti;
    jvmtiCapabilities capabilities;
    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) {
        return JNI_ERR;
    }
    memset(&capabilities, 0, sizeof capabilities);
    capabilities.can_support_virtual_threads = 1;
    return (*jvmti)->AddCapabilities(jvmti, &capabilities) == JVMTI_ERROR_NONE ? JNI_OK : JNI_ERR;
}

/*
 * An agent that asks the JVM for what Tyrion's asks for, and does nothing with it: what
 * changes with this one changes with any agent.
 */
#include <jvmti.h>
#include <string.h>

static const char CHANGED[] = "java/util/concurrent/locks/LockSupport";

/* Takes whatever arguments an event has. */
static void JNICALL ignore(jvmtiEnv *ti) { (void)ti; }

static void JNICALL on_class(jvmtiEnv *ti, JNIEnv *java, jclass old, jobject loader,
                             const char *name, jobject domain, jint len,
                             const unsigned char *bytes, jint *new_len, unsigned char **new) {
    (void)java, (void)old, (void)loader, (void)domain;
    /* The same bytes: the JVM notes that an agent has changed a class of its module. */
    if (name != NULL && strcmp(name, CHANGED) == 0
        && (*ti)->Allocate(ti, len, new) == JVMTI_ERROR_NONE) {
        memcpy(*new, bytes, len);
        *new_len = len;
    }
}

static void JNICALL on_start(jvmtiEnv *ti, JNIEnv *java, jthread thread) {
    static const jvmtiEvent events[] = {
        JVMTI_EVENT_THREAD_START,   JVMTI_EVENT_THREAD_END,
        JVMTI_EVENT_MONITOR_WAIT,   JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
        JVMTI_EVENT_MONITOR_WAITED, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
        JVMTI_EVENT_GARBAGE_COLLECTION_START, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
        JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
        88, /* VIRTUAL_THREAD_END, where there is such */
    };
    jclass changed = (*java)->FindClass(java, CHANGED);
    (void)thread;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, events[i], NULL);
    }
    if (changed != NULL) {
        (*ti)->RetransformClasses(ti, 1, &changed);
    }
    /* As in contention mode. While it is asked for, the JVM keeps what it otherwise forgets
     * of a virtual thread: whether another agent's events are enabled there. */
    (*ti)->SetEventNotificationMode(ti, JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    jvmtiEnv *ti;
    jvmtiCapabilities possible, wanted;
    jvmtiEventCallbacks callbacks;
    void *nothing = (void *)ignore;
    (void)options, (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_1_2) != JNI_OK
        || (*ti)->GetPotentialCapabilities(ti, &possible) != JVMTI_ERROR_NONE) {
        return JNI_ERR;
    }
    memset(&wanted, 0, sizeof wanted);
    wanted.can_generate_monitor_events = 1;
    wanted.can_tag_objects = 1;
    wanted.can_retransform_classes = 1;
    wanted.can_generate_garbage_collection_events = 1;
    wanted.can_get_current_contended_monitor = 1;
    wanted.can_get_source_file_name = 1;
    wanted.can_get_line_numbers = 1;
    wanted.can_get_bytecodes = 1;
    wanted.can_get_constant_pool = 1;
    wanted.can_get_thread_cpu_time = 1;
#ifdef JVMTI_VERSION_21
    wanted.can_support_virtual_threads = possible.can_support_virtual_threads;
#endif
    (*ti)->AddCapabilities(ti, &wanted);
    for (size_t i = 0; i < sizeof callbacks / sizeof nothing; i++) {
        memcpy((char *)&callbacks + i * sizeof nothing, &nothing, sizeof nothing);
    }
    callbacks.VMInit = on_start;
    callbacks.ClassFileLoadHook = on_class;
    (*ti)->SetEventCallbacks(ti, &callbacks, sizeof callbacks);
    return (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
}

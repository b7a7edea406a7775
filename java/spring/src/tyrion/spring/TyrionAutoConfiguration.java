package tyrion.spring;

import io.micrometer.core.instrument.binder.MeterBinder;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** What the starter adds to an application. */
@AutoConfiguration
@EnableConfigurationProperties(TyrionProperties.class)
public class TyrionAutoConfiguration {
    /** Made by Spring. */
    public TyrionAutoConfiguration() {}

    @Bean
    Recorder tyrionRecorder(TyrionProperties properties) {
        return new Recorder(properties);
    }

    /** With actuators. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
    static class Endpoints {
        @Bean
        @ConditionalOnAvailableEndpoint(endpoint = TyrionEndpoint.class)
        @ConditionalOnProperty(name = "tyrion.recording", havingValue = "false", matchIfMissing = true)
        TyrionEndpoint tyrionEndpoint(Recorder recorder) {
            return new TyrionEndpoint(recorder);
        }

        @Bean
        @ConditionalOnAvailableEndpoint(endpoint = TyrionRecordingEndpoint.class)
        @ConditionalOnProperty(name = "tyrion.recording", havingValue = "true")
        TyrionRecordingEndpoint tyrionRecordingEndpoint(Recorder recorder) {
            return new TyrionRecordingEndpoint(recorder);
        }
    }

    /** With Micrometer. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterBinder.class)
    static class Meters {
        @Bean
        LockMeters tyrionLockMeters(Recorder recorder, TyrionProperties properties) {
            return new LockMeters(recorder, properties);
        }
    }
}

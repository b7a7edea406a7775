/** Tyrion in a Spring Boot application: meters of locks, and an actuator endpoint. */
package tyrion.spring;
